numbers = [int(word) for _ in range(10**6) for word in "1 2 3 4 5 6 7 8 9 1000".split()]
print(sum(numbers))
