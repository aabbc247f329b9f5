import { expect, test } from "bun:test";
import { hasChecksum, makeApiKey } from "../../../src/keys/api-key.ts";

test("an id made with the secret of a store has its checksum, and no other id has", () => {
  for (let round = 0; round < 100; round++) {
    const { id } = makeApiKey("one");
    expect(id).toMatch(/^[0-9A-Za-z]{18}$/);
    expect(hasChecksum(id, "one")).toBe(true);
    expect(hasChecksum(id, "another")).toBe(false);
    const changed = id.startsWith("a") ? `b${id.slice(1)}` : `a${id.slice(1)}`;
    expect(hasChecksum(changed, "one")).toBe(false);
  }
  for (const id of ["", "e2etest1", "0123456789ab", "0".repeat(18), "0".repeat(64)]) {
    expect(hasChecksum(id, "one")).toBe(false);
  }
});
