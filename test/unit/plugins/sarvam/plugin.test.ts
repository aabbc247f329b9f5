import { describe, expect, test } from "bun:test";
import sarvam from "../../../../plugins/sarvam/index.ts";
import type { UpstreamErrorKind } from "../../../../src/contract/index.ts";
import { headersOf } from "../../../support/authorize.ts";
import { recordingAt, recordingsMissing } from "../../../support/recordings.ts";

const refused = (status: number, body: unknown) =>
  sarvam.readError({ status, headers: new Headers(), body: JSON.stringify(body) });

describe("the sarvam plugin", () => {
  test("speaks to its host alone and shows its key in Sarvam's own header", async () => {
    expect({ name: sarvam.name, baseUrl: sarvam.baseUrl, hosts: sarvam.hosts }).toEqual({
      name: "sarvam",
      baseUrl: "https://api.sarvam.ai",
      hosts: [],
    });
    expect(await headersOf(sarvam, "k")).toEqual({ "api-subscription-key": "k" });
  });

  test("has a handler for each thing its models can do", () => {
    expect(sarvam.models.map(({ id, capability }) => [id, capability])).toEqual([
      ["famF-m", "chat"],
      ["famF-stt", "transcription"],
      ["famF-tts", "speech"],
      ["sarvam-105b", "chat"],
    ]);
    expect(Object.keys(sarvam.handlers).sort()).toEqual(["chat", "speech", "transcription"]);
  });
});

describe("a refusal of sarvam", () => {
  test.each<[number, string, UpstreamErrorKind]>([
    [400, "invalid_request_error", "bad_request"],
    [413, "invalid_request_error", "bad_request"],
    [422, "unprocessable_entity_error", "bad_request"],
    [403, "invalid_api_key_error", "auth"],
    [404, "not_found_error", "model_not_found"],
    [429, "insufficient_quota_error", "insufficient_quota"],
    [429, "rate_limit_exceeded_error", "rate_limited"],
    [503, "rate_limit_exceeded_error", "rate_limited"],
    [500, "internal_server_error", "server_error"],
  ])("%d %s is %s", (status, code, kind) => {
    const fault = refused(status, { error: { message: "It says so", code, request_id: "1" } });
    expect(fault.kind).toBe(kind);
    if (kind === "bad_request") expect(fault.message).toBe("It says so");
    if (kind === "auth") expect(fault.message).not.toContain("It says so");
  });

  test.skipIf(recordingsMissing !== undefined)(`as recorded is of its kind ${recordingsMissing ?? ""}`, () => {
    const kinds = ["422-unprocessable-entity-error", "429-insufficient-quota-error", "429-rate-limit-exceeded-error"]
      .concat("500-internal-server-error")
      .map((name) => recordingAt(`sarvam/errors/${name}.json`))
      .map(({ status, body }) => refused(status, JSON.parse(new TextDecoder().decode(body))).kind);
    expect(kinds).toEqual(["bad_request", "insufficient_quota", "rate_limited", "server_error"]);
  });
});
