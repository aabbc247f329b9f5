import { expect, test } from "bun:test";
import { toListenError } from "../../../src/config/index.ts";

test.each([
  ["EADDRINUSE", "PORT", "the port is in use; set PORT to another"],
  ["EACCES", "METRICS_PORT", "its user has no permission for this port; set METRICS_PORT to one above 1023"],
  ["EADDRNOTAVAIL", "PORT", "this machine has no such address; set HOST to one that it has, such as 127.0.0.1"],
  [
    "EINVAL",
    "METRICS_PORT",
    "this machine has no such address; set METRICS_HOST to one that it has, such as 127.0.0.1",
  ],
  ["EMFILE", "PORT", "as the platform says it"],
])("a start that cannot listen (%s at %s) says what to set", (code, variable, reason) => {
  const thrown = Object.assign(new Error("as the platform says it"), { code });
  const { message } = toListenError(thrown, "gate.example", 80, variable);
  expect(message).toBe(`Cannot listen on gate.example:80: ${reason}`);
});
