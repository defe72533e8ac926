// Node 18 before 18.18 does not know the symbol that `await using` looks for.
(Symbol as { asyncDispose?: symbol }).asyncDispose ??= Symbol.for("Symbol.asyncDispose");
export {};
