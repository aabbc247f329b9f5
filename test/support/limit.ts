/**
 * Sets the limit of tests and hooks for files that `bun test` runs without `test/run.ts`. Read ahead of each file that has a
 * global object of its own (bunfig.toml): the first of `bun test`, and each of `bun test --isolate`.
 */
import { setDefaultTimeout } from "bun:test";
import { testMsMax } from "./long.ts";

setDefaultTimeout(testMsMax);
