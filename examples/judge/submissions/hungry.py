# One number for every answer there could be.
numbers = b"1 " * 200_000_000
print(len(numbers))
