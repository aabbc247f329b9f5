import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash, createHmac } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parquetReadObjects } from "hyparquet";
import { type Gateway, startGateway } from "../../support/gateway.ts";

let gateway: Gateway;
let bucket: ReturnType<typeof Bun.serve>;
/** What the bucket holds. */
const objects = new Map<string, Uint8Array>();
const secret = "a secret of a test";
/** Requests whose signature is right, and others. */
const requests = { signed: 0, refused: 0 };
const folder = mkdtempSync(join(tmpdir(), "modelgate-export-"));

beforeAll(async () => {
  bucket = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const body = await request.bytes();
      if (!isSigned(request, body)) {
        requests.refused += 1;
        return new Response("<Error><Code>SignatureDoesNotMatch</Code></Error>", { status: 403 });
      }
      requests.signed += 1;
      if (request.method === "PUT") {
        objects.set(pathname, body);
        return new Response();
      }
      const found = objects.get(pathname);
      if (found !== undefined) return new Response(found as Uint8Array<ArrayBuffer>);
      return new Response("<Error><Code>NoSuchKey</Code></Error>", { status: 404 });
    },
  });
  gateway = await startGateway({
    env: {
      SANDBOX: "on",
      AWS_ACCESS_KEY_ID: "AKIAEXAMPLE",
      AWS_SECRET_ACCESS_KEY: secret,
      AWS_REGION: "eu-west-1",
      AWS_ENDPOINT_URL: `http://127.0.0.1:${bucket.port}`,
    },
  });
});
afterAll(async () => {
  await gateway?.stop();
  await bucket?.stop(true);
  rmSync(folder, { recursive: true, force: true });
});

/** Whether a request has the signature (AWS Signature Version 4) that S3 would compute of it and of the secret. */
function isSigned({ method, url, headers }: Request, body: Uint8Array): boolean {
  const form =
    /^AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE\/(\d{8}\/eu-west-1\/s3\/aws4_request), ?SignedHeaders=([\w;-]+), ?Signature=(\w{64})$/;
  const [, scope = "", names = "", signature] = form.exec(headers.get("authorization") ?? "") ?? [];
  const payload = headers.get("x-amz-content-sha256") ?? "";
  if (payload !== "UNSIGNED-PAYLOAD" && payload !== sha256(body)) return false;
  const { pathname, searchParams } = new URL(url);
  searchParams.sort();
  const signedHeaders = names.split(";").map((name) => `${name}:${headers.get(name)?.trim()}\n`);
  const canonical = [method, pathname, searchParams.toString(), signedHeaders.join(""), names, payload].join("\n");
  const text = ["AWS4-HMAC-SHA256", headers.get("x-amz-date"), scope, sha256(canonical)].join("\n");
  const hmac = (key: string | Uint8Array, data: string) => createHmac("sha256", key).update(data).digest();
  const key = scope.split("/").reduce<string | Uint8Array>(hmac, `AWS4${secret}`);
  return hmac(key, text).toString("hex") === signature;
}

const sha256 = (data: string | Uint8Array) => createHash("sha256").update(data).digest("hex");

async function call(tag: string): Promise<void> {
  const body = { model: "gpt-4o-mini", messages: [{ role: "user", content: "Hi" }], metadata: { tag } };
  expect((await gateway.post("/chat/completions", body)).status).toBe(200);
}

const exportTo = (target: string, ...flags: string[]) =>
  gateway.cli<{ files: { name: string; calls: number }[] }>("export", "calls", target, ...flags);

const linesOf = (name: string) =>
  readFileSync(join(folder, "lines", name), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { seq: number; tag: string; model: string });

describe("export calls", () => {
  test("writes new calls alone at each run, and nothing when there are none", async () => {
    const target = join(folder, "lines");
    for (const tag of ["one", "two"]) await call(tag);
    const first = await exportTo(target);
    expect(first.files.map(({ calls }) => calls)).toEqual([2]);
    expect((await exportTo(target)).files).toEqual([]);
    await call("three");
    const second = await exportTo(target);
    const rows = [...first.files, ...second.files].flatMap(({ name }) => linesOf(name));
    expect(rows.map(({ tag }) => tag)).toEqual(["one", "two", "three"]);
    expect(rows[0]).toMatchObject({
      model: "famA-4o-mini",
      state: "settled",
      usage: { input_tokens: expect.any(Number) },
    });
  });

  test("writes a range again that was cut off, so that no call is in two files", async () => {
    const target = join(folder, "lines");
    const before = readdirSync(target).sort();
    const { seq } = JSON.parse(readFileSync(join(target, "cursor.json"), "utf8")) as { seq: number };
    await call("four");
    await exportTo(target);
    const [fresh = ""] = readdirSync(target).filter((name) => !before.includes(name));
    // As a run leaves it that ends between its file and its cursor.
    writeFileSync(join(target, "cursor.json"), JSON.stringify({ seq, until: seq + 1 }));
    await call("five");
    const { files } = await exportTo(target);
    expect(files.map(({ name }) => name)).toContain(fresh);
    const tags = readdirSync(target)
      .filter((name) => name.endsWith(".jsonl"))
      .flatMap((name) => linesOf(name).map(({ tag }) => tag));
    expect(tags.sort()).toEqual(["five", "four", "one", "three", "two"]);
  });

  test("writes Parquet into a bucket, with signed requests, and goes on there", async () => {
    const { files } = await exportTo("s3://calls/gate", "--format", "parquet");
    const [file] = files;
    const bytes = objects.get(`/calls/gate/${file?.name}`) as Uint8Array<ArrayBuffer>;
    const rows = await parquetReadObjects({ file: bytes.slice().buffer });
    expect(rows.length).toBe(file?.calls as number);
    expect(rows[0]).toMatchObject({ tag: "one", model: "famA-4o-mini", premium: false, opened_at: expect.any(Date) });
    expect(typeof rows[0]?.input_tokens).toBe("bigint");
    expect(rows.map((row) => row.images)).toEqual(rows.map(() => null));
    expect(requests).toEqual({ signed: expect.any(Number), refused: 0 });
    expect(requests.signed).toBeGreaterThan(1);
    expect((await exportTo("s3://calls/gate", "--format", "parquet")).files).toEqual([]);
  });

  test("says which credentials, format or bucket is wrong", async () => {
    for (const [args, reason] of [
      [["s3://Not A Bucket"], "is not a bucket"],
      [[folder, "--format", "xml"], "expected jsonl or parquet"],
    ] as const) {
      const { code, stderr } = await gateway.run("export", "calls", ...args);
      expect([code, stderr]).toEqual([2, expect.stringContaining(reason)]);
    }
  });
});
