import { describe, expect, test } from "bun:test";
import bedrock from "../../../../plugins/bedrock/index.ts";
import { signAws } from "../../../../plugins/bedrock/sign.ts";
import file from "../../../fixtures/aws/sigv4.json";
import { headersOf } from "../../../support/authorize.ts";

const accessKeyId = "AKIDEXAMPLE";
const secretAccessKey = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

/** AWS's own test suite of Signature Version 4, and the example of its documentation. */
const vectors: [string, { method: string; url: string; headers?: Record<string, string>; service: string }, string][] =
  [
    [
      "get-vanilla",
      { method: "GET", url: "https://example.amazonaws.com/", service: "service" },
      "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
    ],
    [
      "post-vanilla",
      { method: "POST", url: "https://example.amazonaws.com/", service: "service" },
      "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
    ],
    [
      "get-vanilla-query-order-key-case",
      { method: "GET", url: "https://example.amazonaws.com/?Param2=value2&Param1=value1", service: "service" },
      "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
    ],
    [
      "IAM ListUsers",
      {
        method: "GET",
        url: "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08",
        headers: { "content-type": "application/x-www-form-urlencoded; charset=utf-8" },
        service: "iam",
      },
      "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
    ],
  ];

describe("a signature", () => {
  test.each(vectors)(
    "is that of AWS's published vector %s",
    async (_, { service, headers = {}, ...request }, signature) => {
      const keys = { accessKeyId, secretAccessKey, region: "us-east-1", service };
      const signed = await signAws({ ...request, headers, body: "" }, keys, Date.parse("2015-08-30T12:36:00Z"));
      expect(signed.authorization).toEndWith(`Signature=${signature}`);
      expect(signed["x-amz-date"]).toBe("20150830T123600Z");
    },
  );

  test.each(file.requests.map((one) => [one.about, one] as const))("is that of botocore: %s", async (_, one) => {
    const { method, url, body, sessionToken, region } = one;
    const {
      authorization,
      "x-amz-date": date,
      "x-amz-security-token": token,
      ...headers
    } = one.headers as Record<string, string>;
    const keys = { accessKeyId, secretAccessKey, sessionToken: sessionToken ?? undefined, region, service: "bedrock" };
    const signed = await signAws({ method, url, headers, body }, keys, Date.parse("2026-11-24T12:30:45Z"));
    expect(signed).toEqual({
      authorization,
      "x-amz-date": date,
      ...(token && { "x-amz-security-token": token }),
    } as typeof signed);
  });
});

test("a Bedrock API key is a bearer token, and access keys sign", async () => {
  expect(await headersOf(bedrock, { region: "us-east-1", api_key: "bedrock-api-key-1" })).toEqual({
    authorization: "Bearer bedrock-api-key-1",
  });
  const keys = { region: "eu-west-1", access_key_id: "AKIAIOSFODNN7EXAMPLE", secret_access_key: secretAccessKey };
  const signed = await headersOf(bedrock, { ...keys, session_token: "session" });
  expect(signed.authorization).toMatch(
    /^AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE\/\d{8}\/eu-west-1\/bedrock\/aws4_request, /,
  );
  expect(signed["x-amz-security-token"]).toBe("session");
});
