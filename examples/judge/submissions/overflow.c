#include <stdio.h>

int main(void)
{
	int count;
	unsigned number, sum = 0; /* 32 bits are not enough */

	for (scanf("%d", &count); count > 0 && scanf("%u", &number) == 1; count--)
		sum += number;
	printf("%d\n", (int)sum);
}
