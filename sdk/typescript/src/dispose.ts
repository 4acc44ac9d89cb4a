/** Older Nodes and browsers have no such symbol; what `await using` is compiled to looks for it by this name. */
(Symbol as { asyncDispose?: symbol }).asyncDispose ??= Symbol.for("Symbol.asyncDispose");

export {};
