// For `import`: the same classes, and the same servers, as for `require`.
export * from "./index.js";
