// syntax.ts - the syntax of TypeScript beyond types, and text that must stay as it is.
import assert from 'node:assert';
import { type Shape, Square, Kind, area } from './shape';
import * as fs from 'node:fs';

enum Color { Red, Green = 1 << 2, Blue, Both = Red | Green, Name = 'x', Text = `t-${Name}` }
assert.deepEqual([Color.Red, Color.Green, Color.Blue, Color.Both, Color.Name, Color.Text], [0, 4, 5, 4, 'x', 't-x']);
assert.deepEqual([Color[0], Color[5], (Color as any).x], ['Red', 'Blue', undefined]);
enum Color { Late = 9 }
assert.deepEqual([Color.Late, Color.Red, Color[9]], [9, 0, 'Late']);

namespace Geo {
  export const unit = 1;
  export let changes = 1;
  export function grow(): number { return ++changes; }
  export namespace Deep { export class Point { constructor(public x = unit) {} } }
  export enum Axis { X = 1 }
  export const [first, { second }] = [1, { second: 2 }];
}
namespace Geo { export const twice = unit * 2; }
namespace A.B.C { export const d = 'abc'; }
assert.deepEqual([Geo.unit, Geo.grow(), Geo.changes, new Geo.Deep.Point().x, Geo.Axis.X, Geo.first, Geo.second, Geo.twice, A.B.C.d],
                 [1, 2, 2, 1, 1, 1, 2, 2, 'abc']);
Geo.changes = 10;
assert.equal(Geo.grow(), 11);
import Deep = Geo.Deep;
assert.equal(new Deep.Point(3).x, 3);

function tag(strings: TemplateStringsArray, ...values: unknown[]): string { return strings.raw.join('|') + values.join(); }
assert.equal(tag<string>`a${1}b`, 'a|b1');

class Box<T> {
  private items: T[] = [];
  declare never: string;
  later!: number;
  static #count?: number = 0;
  constructor(readonly name: string, protected size: number = 2, plain?: T) { Box.#count!++; if (plain !== undefined) this.items.push(plain); }
  add(item: T): this;
  add(...items: T[]): this;
  add(...items: any[]) { this.items.push(...items); return this; }
  get all(): ReadonlyArray<T> { return this.items as readonly T[]; }
  static count(): number { return Box.#count!; }
  *[Symbol.iterator](): Iterator<T> { yield* this.items; }
}
class Named extends Box<string> { constructor(name: string, public extra = 'e') { super(name); } }
const box = new Box<number>('b', undefined, 1).add(2).add(3, 4);
assert.deepEqual([...box, box.name, (box as any).size, box.all.length, Box.count()], [1, 2, 3, 4, 'b', 2, 4, 1]);
assert.deepEqual(['never' in box, 'later' in box], [false, true]);
assert.deepEqual([new Named('n').name, new Named('n').extra], ['n', 'e']);

abstract class Animal { abstract sound(): string; speak(): string { return `${this.sound()}!`; } }
const dog = new (class extends Animal { override sound() { return 'wuff'; } })();
assert.equal(dog.speak(), 'wuff!');

const pick = <T, K extends keyof T>(from: T, key: K): T[K] => from[key];
const later = async <T,>(value: T): Promise<T> => await value;
assert.equal(pick({ a: 1 }, 'a'), 1);
assert.equal(await later<number>(2), 2);
const shape: Shape = new Square(3);
assert.deepEqual([area(shape), Kind[Kind.Round], typeof fs.readFileSync], [9, 'Round', 'function']);
let u = 1 as unknown as string
;[u] = ['x' satisfies string];
assert.equal(u!, 'x');
const a = 1, b = 2, c = 3;
assert.deepEqual([a < b, (b) > c], [true, false]);
try { throw 1; } catch (e: unknown) { assert.equal(e, 1); }
for (const [key, value] of Object.entries({ k: 1 }) as [string, number][]) assert.equal(key + value, 'k1');

function where(): number { return Number(new Error().stack!.split('\n')[1].match(/:(\d+):\d+\)?$/)![1]); }
assert.equal(where(), 69);
console.log('ok');
