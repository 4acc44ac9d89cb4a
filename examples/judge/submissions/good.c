#include <stdio.h>

int main(void)
{
	long long count, number, sum = 0;

	for (scanf("%lld", &count); count > 0 && scanf("%lld", &number) == 1; count--)
		sum += number;
	printf("%lld\n", sum);
}
