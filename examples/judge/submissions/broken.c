int main(void)
{
	return sum(numbers);
}
