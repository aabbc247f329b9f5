/**
 * Sets the limit of tests and hooks for files that `bun test` runs without `test/run.ts`. Read ahead of each file that has a
 * global object of its own (bunfig.toml): the first of `bun test`, and each of `bun test --isolate`.
 */
import { afterAll, setDefaultTimeout } from "bun:test";
import { relative } from "node:path";
import { accountFile, cpuVariable } from "./cpu-account.ts";
import { testMsMax } from "./long.ts";

setDefaultTimeout(testMsMax);

const account = process.env[cpuVariable];
if (account !== undefined) afterAll(() => accountFile(account, relative(".", Bun.main)));
