export const two: number = 2;
