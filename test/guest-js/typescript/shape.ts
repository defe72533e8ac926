export interface Shape { side: number }
export enum Kind { Square = 1, Round }
export class Square implements Shape { constructor(public side: number) {} }
export const area = (shape: Shape): number => shape.side ** 2;
interface Hidden {}
export { Hidden };
