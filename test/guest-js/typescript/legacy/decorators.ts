// decorators.ts - decorators of experimentalDecorators.
import assert from 'node:assert';

const log: string[] = [];
const note = (text: string): any => (...args: any[]) => { log.push(`${text} ${args.length}`); };

function twice(target: any, key: string, descriptor: PropertyDescriptor) {
  const original = descriptor.value;
  descriptor.value = function (n: number) { return original.call(this, n) * 2; };
}
function sealed(constructor: Function) { Object.seal(constructor); }
function inject(target: any, key: string | undefined, index: number) { log.push(`${String(key)} ${index}`); }

@sealed
@note('class')
class A {
  @note('field') field: number = 1;
  @note('static') static s = 2;
  constructor(@inject private a: string, b: number, @inject c: boolean) {}
  @twice run(@inject n: number): number { return n + this.field; }
}

assert.equal(new A('', 1, true).run(3), 8);
assert.ok(Object.isSealed(A));
assert.deepEqual(log, ['field 3', 'run 0', 'static 3', 'undefined 0', 'undefined 2', 'class 1']);
console.log('ok');
