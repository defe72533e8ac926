export const three: number = 3;
