#include <stdio.h>

int main(void)
{
	int *numbers = NULL;

	scanf("%d", numbers + 1);
	printf("%d\n", numbers[1]);
}
