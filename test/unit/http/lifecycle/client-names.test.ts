import { describe, expect, test } from "bun:test";
import {
  readEndUserHeader,
  readNamesOfBody,
  readSessionHeader,
  readTagHeader,
} from "../../../../src/http/lifecycle/http-call.ts";
import { httpOf } from "../support.ts";

const id = "0199f2a4-55c0-7a91-9d1c-3b1a2f6f0d11";

function namesOf(given: Record<string, string>, body: unknown) {
  const headers = new Headers(given);
  const names = {
    session: readSessionHeader(headers),
    tag: readTagHeader(headers),
    endUser: readEndUserHeader(headers),
  };
  readNamesOfBody(body, names);
  return names;
}

describe("the tag of a call", () => {
  test.each<[string, Record<string, string>, unknown, string | undefined]>([
    ["the header", { "x-modelgate-tag": "nightly" }, {}, "nightly"],
    ["the header before the body", { "x-modelgate-tag": "nightly" }, { metadata: { tag: "other" } }, "nightly"],
    ["the body's metadata", {}, { metadata: { tag: "team a/prod" } }, "team a/prod"],
    ["the body where the header is unusable", { "x-modelgate-tag": "*" }, { metadata: { tag: "b" } }, "b"],
    ["none: too long", { "x-modelgate-tag": "a".repeat(65) }, {}, undefined],
    ["the longest", { "x-modelgate-tag": "a".repeat(64) }, {}, "a".repeat(64)],
    ["none: a formula", {}, { metadata: { tag: "=cmd()" } }, undefined],
    ["none: a list", {}, { metadata: { tag: ["a"] } }, undefined],
    ["none: metadata of another shape", {}, { metadata: "tag" }, undefined],
  ])("is that of %s", (_what, headers, body, tag) => {
    expect(namesOf(headers, body).tag).toBe(tag);
  });
});

describe("the session of a call", () => {
  test.each<[string, Record<string, string>, unknown, string | undefined]>([
    ["Claude Code's header", { "x-claude-code-session-id": id }, {}, id],
    ["Codex's header", { "session-id": id }, {}, id],
    ["a header before the body", { "session-id": id }, { prompt_cache_key: "other" }, id],
    ["prompt_cache_key", {}, { prompt_cache_key: "my app v1" }, "my app v1"],
    ["Claude Code's metadata", {}, { metadata: { user_id: JSON.stringify({ device_id: "d", session_id: id }) } }, id],
    ["its older form", {}, { metadata: { user_id: `user_ab12_account__session_${id}` } }, id],
    ["the body where the header is unusable", { "session-id": "a;b" }, { prompt_cache_key: "k" }, "k"],
    ["none: a person", {}, { metadata: { user_id: "user-1" }, user: "user-1" }, undefined],
    ["none: broken JSON", {}, { metadata: { user_id: '{"session_id": ' } }, undefined],
    ["none: JSON of another shape", {}, { metadata: { user_id: "{}" } }, undefined],
    ["none: no text", {}, { prompt_cache_key: 7, metadata: { user_id: ["a"] } }, undefined],
    ["none: too long", {}, { prompt_cache_key: "a".repeat(129) }, undefined],
    [
      "none: a JSON text too long to read",
      {},
      { metadata: { user_id: `{"session_id":"a","b":"${"b".repeat(2000)}"}` } },
      undefined,
    ],
    ["none: a formula", {}, { prompt_cache_key: "=cmd()" }, undefined],
    ["none: a line break", {}, { prompt_cache_key: "a\nb" }, undefined],
    ["none: no object", {}, "text", undefined],
  ])("is that of %s", (_, headers, body, session) => {
    expect(namesOf(headers, body).session).toBe(session);
  });
});

describe("the end user of a call", () => {
  test.each<[string, Record<string, string>, unknown, string | undefined]>([
    ["the header", { "x-modelgate-end-user": "ada@example.com" }, {}, "ada@example.com"],
    ["the header before the body", { "x-modelgate-end-user": "ada" }, { user: "ben" }, "ada"],
    ["safety_identifier before user", {}, { safety_identifier: "ada", user: "ben" }, "ada"],
    ["user", {}, { user: "Zoë Ω" }, "Zoë Ω"],
    ["Anthropic's metadata", {}, { metadata: { user_id: "user-1" } }, "user-1"],
    ["Claude Code's account", {}, { metadata: { user_id: '{"account_uuid":"a","device_id":"d"}' } }, "a"],
    ["Claude Code's device", {}, { metadata: { user_id: '{"account_uuid":"","device_id":"d"}' } }, "d"],
    ["its older form", {}, { metadata: { user_id: `user_ab12_account__session_${id}` } }, "user_ab12_account_"],
    ["the longest", {}, { user: "a".repeat(128) }, "a".repeat(128)],
    ["none: too long", {}, { user: "a".repeat(129) }, undefined],
    ["none: empty", {}, { user: "" }, undefined],
    ["none: a null character", {}, { user: "a\0" }, undefined],
    ["none: half a pair", {}, { user: "\ud800" }, undefined],
    ["none: no text", {}, { user: 7, safety_identifier: {} }, undefined],
  ])("is that of %s", (_, headers, body, endUser) => {
    expect(namesOf(headers, body).endUser).toBe(endUser);
  });
});

test.each([
  ["chat/completions", { prompt_cache_key: "s-1", messages: [{ role: "user", content: "Hi" }] }],
  ["responses", { prompt_cache_key: "s-1", input: "Hi" }],
  [
    "messages",
    { metadata: { user_id: '{"session_id":"s-1"}' }, max_tokens: 9, messages: [{ role: "user", content: "Hi" }] },
  ],
])("a call by POST /%s is recorded and logged with its session", async (path, body) => {
  const { post, ledger, log } = httpOf();
  await (await post(path, { model: "chat-1", ...body })).text();
  await (await post(path, { model: "chat-1", ...body }, { "session-id": "s-2" })).text();
  expect(ledger.claims.map(({ session }) => session)).toEqual(["s-1", "s-2"]);
  const lines = log.lines.filter(({ event }) => event === "call");
  expect(lines.map(({ fields }) => fields?.session)).toEqual(["s-1", "s-2"]);
});
