import { describe, expect, test } from "bun:test";
import {
  type CredentialForm,
  findCredentialError,
  formatCredential,
  getPlainFields,
  getSecrets,
  readCredential,
} from "../../../src/provider/index.ts";

const form: CredentialForm = {
  fields: [
    { name: "region", label: "Region", pattern: "[a-z0-9-]+", example: "us-east-1" },
    { name: "api_key", label: "API key", secret: true },
    { name: "client_id", label: "Client" },
    { name: "client_secret", label: "Secret", secret: true },
    { name: "document", label: "Document", secret: true, isFile: true },
    {
      name: "mode",
      label: "Mode",
      choices: [
        { value: "fast", label: "Fast" },
        { value: "slow", label: "Slow" },
      ],
    },
  ],
  methods: [
    { name: "api_key", label: "API key", fields: ["region", "api_key"], optional: ["mode"] },
    { name: "application", label: "Application", fields: ["client_id", "client_secret"] },
    { name: "document", label: "Document", fields: ["document"] },
  ],
};

describe("a credential with fields", () => {
  test("is one text, in which what is secret stands apart", () => {
    const text = formatCredential(form, { api_key: "secret-1", region: "eu-west-1" });
    expect(readCredential(text)).toEqual({ key: "", fields: { region: "eu-west-1", api_key: "secret-1" } });
    expect(getPlainFields(text)).toEqual({ region: "eu-west-1" });
    expect(getSecrets(text)).toEqual(["secret-1"]);
  });

  test("hides what is long within a document, but no address", () => {
    const key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC";
    const document = JSON.stringify({
      type: "x",
      private_key: key,
      token_uri: "https://oauth2.example.com/token/longer",
    });
    expect(getSecrets(formatCredential(form, { document }))).toEqual([document, key]);
  });

  test("of one key is the key, whatever it looks like", () => {
    for (const key of ["sk-1", "{}", '{"plain":']) expect(readCredential(key).fields).toEqual({});
    expect(readCredential("sk-1").key).toBe("sk-1");
    expect(getSecrets("sk-1")).toEqual(["sk-1"]);
  });

  test.each<[string, Record<string, string>, object | undefined]>([
    ["one set", { region: "us-east-1", api_key: "k" }, undefined],
    ["a document", { document: '{"a": "b c"}' }, undefined],
    ["nothing", {}, { field: "document" }],
    [
      "a part of a set",
      { client_id: "c" },
      {
        field: "client_secret",
        problem:
          "it is not set, expected region, api_key (API key); or client_id, client_secret (Application); or document (Document)",
      },
    ],
    [
      "a host in place of a region",
      { region: "evil.example/", api_key: "k" },
      { field: "region", problem: "it has another form, expected one such as us-east-1" },
    ],
    ["one of the choices", { region: "us-east-1", api_key: "k", mode: "slow" }, undefined],
    [
      "a value beside the choices",
      { region: "us-east-1", api_key: "k", mode: "medium" },
      { field: "mode", problem: "it has another value, expected fast or slow" },
    ],
    ["a space", { region: "us-east-1", api_key: "a b" }, { field: "api_key" }],
    ["an unknown field", { regoin: "us-east-1" }, { field: "regoin" }],
  ])("is judged: %s", (_, values, expected) => {
    const found = findCredentialError(form, values);
    if (expected === undefined) expect(found).toBeUndefined();
    else expect(found).toMatchObject(expected);
  });
});
