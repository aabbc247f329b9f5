import { expect, test } from "bun:test";
import { withoutSecrets } from "../../../src/dashboard/data/secrets.ts";

const secret = "f".repeat(20) + "5a6460abd3e46619e2a977ec7f83b0d1";

test.each([
  [`sk-${secret}`, "sk-…"],
  [`?search=sk-${secret}&state=all`, "?search=sk-…&state=all"],
  // Pasted into a field that had text in it.
  [`20G3WmexuS250TLFhtsk-${secret}`, "20G3WmexuS250TLFhtsk-…"],
  [`whosesk-ant-api03-${secret}-x_y`, "whosesk-ant-api03-…"],
  [`sk-mg-20G3WmexuS250TLFht-${secret}`, "sk-mg-20G3WmexuS250TLFht-…"],
  [`abcsk-mg-admin-20G3WmexuS250TLFht-${secret}`, "abcsk-mg-admin-20G3WmexuS250TLFht-…"],
])("of %s no more than its beginning is said", (text, shown) => {
  expect(withoutSecrets(text)).toBe(shown);
});

test.each(["task-management-system", "risk-internationalization-2026", "desk-1", "disk-full-on-host-12", "gpt-5.4"])(
  "%s is a text like another",
  (text) => {
    expect(withoutSecrets(text)).toBe(text);
  },
);
