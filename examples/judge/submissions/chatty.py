while True:
    print("is it", 42, "?")
