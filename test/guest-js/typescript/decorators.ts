// decorators.ts - decorators of the standard, as the compiler of TypeScript makes them.
import assert from 'node:assert';

const log: string[] = [];

function traced(value: any, context: ClassMethodDecoratorContext) {
  return function (this: any, ...args: any[]) {
    log.push(`${context.kind} ${String(context.name)} ${context.static}`);
    return value.call(this, ...args);
  };
}
const doubled = (_: undefined, context: ClassFieldDecoratorContext) => (initial: number) => initial * 2;
function bound(value: any, { name, addInitializer }: any) {
  addInitializer(function (this: any) { this[name] = value.bind(this); });
}
const register = (list: string[]) => (value: any, context: ClassDecoratorContext) => { list.push(context.name!); };
const upper = (value: any, _: any) => function (this: any) { return value.call(this).toUpperCase(); };
const clamp = ({ get, set }: any, _: any) => ({ get, set(this: any, v: number) { set.call(this, Math.min(v, 10)); }, init: (v: number) => v + 1 });

const names: string[] = [];

@register(names)
class Counter {
  @doubled count: number = 21;
  @doubled static total = 4;
  @clamp accessor level: number = 1;
  constructor(private readonly label: string) {}
  @traced add(n: number): number { return this.count += n; }
  @traced static make(label: string): Counter { return new Counter(label); }
  @bound name(): string { return this.label; }
  @upper get shown(): string { return this.label; }
  @((_: undefined, c: any) => { log.push(c.name); }) ['computed' + 1] = 7;
}

const counter = Counter.make('a');
assert.equal(counter.count, 42);
assert.equal(Counter.total, 8);
assert.equal(counter.add(1), 43);
const { name } = counter;
assert.equal(name(), 'a');
assert.equal(counter.shown, 'A');
assert.equal(counter.level, 2);
counter.level = 50;
assert.equal(counter.level, 10);
assert.deepEqual(names, ['Counter']);
assert.equal((counter as any).computed1, 7);
assert.deepEqual(log, ['computed1', 'method make true', 'method add false']);
assert.equal(Counter.name, 'Counter');

// The last one is called first.
const order: string[] = [];
const note = (text: string) => { order.push(`make ${text}`); return (_: any, __: any) => { order.push(text); }; };
class Order { @note('a') @note('b') m() {} }
assert.deepEqual(order, ['make a', 'make b', 'b', 'a']);
assert.ok(new Order());

// A class may be replaced.
const replace = <T extends new (...a: any[]) => object>(value: T, _: any) => class extends value { extra = 1; };
@replace class Replaced { static self() { return Replaced; } }
assert.equal((new Replaced() as any).extra, 1);
assert.equal(Replaced.self(), Replaced);

// Metadata is shared by the members of a class.
const seen: object[] = [];
const meta = (_: any, c: any) => { seen.push(c.metadata); };
class Meta { @meta a() {} @meta b = 1; }
assert.equal(seen[0], seen[1]);
assert.ok(new Meta());

assert.throws(() => { class Bad { @(1 as any) m() {} } return Bad; }, TypeError);
assert.throws(() => { class Bad { @((() => 1) as any) m() {} } return Bad; }, TypeError);
console.log('ok');
