import { expect, mock, test } from "bun:test";
import * as os from "node:os";

await mock.module("node:os", () => ({
  ...os,
  homedir: () => {
    throw new Error("ENOENT: no such file or directory, uv_os_homedir");
  },
}));
const { readConfig } = await import("../../../src/config/index.ts");

test("a user id that the system does not know needs no home folder where MODELGATE_HOME is set", () => {
  expect(readConfig({ MODELGATE_HOME: "/srv/gate" }).home).toBe("/srv/gate");
  expect(readConfig({ HOME: "/srv" }).home).toBe("/srv/.modelgate");
});

test("without MODELGATE_HOME such a user is told to set it", () => {
  expect(() => readConfig({})).toThrow(
    "Cannot use MODELGATE_HOME: it is not set, and this user has no home folder, expected a folder",
  );
});
