import { createHmac, timingSafeEqual } from "node:crypto";
import { Elysia } from "elysia";
import { GatewayError } from "../contract/index.ts";
import type { HttpGround } from "./ground.ts";
import { identify, type ResponseHeaders } from "./run.ts";

/** How long the address of a generated file is good for. */
const fileLivesMs = 3_600_000;

/** Keeps a file and gives the address under which anyone who was told can fetch it until it expires. */
export async function fileAddress(
  ground: HttpGround,
  file: { mediaType: string; bytes: Uint8Array },
  request: Request,
): Promise<string> {
  const expiresAt = ground.now() + fileLivesMs;
  const id = await ground.files.put({ ...file, expiresAt });
  const expires = Math.floor(expiresAt / 1000);
  const path = `${ground.basePath}/files/${id}?expires=${expires}&signature=${sign(ground, id, expires)}`;
  return new URL(path, originOf(request)).href;
}

/** GET /files/{id}: no key, the signature in the address is the permission. */
export function filesController(ground: HttpGround) {
  return new Elysia().get(
    "/files/:id",
    async ({ params, query, set }) => {
      identify(ground, set.headers as ResponseHeaders);
      const { id } = params;
      const { expires = "", signature = "" } = query;
      const isOurs = matches(sign(ground, id, Number(expires)), signature);
      const isFresh = Number(expires) * 1000 > ground.now();
      const file = isOurs && isFresh ? await ground.files.get(id) : undefined;
      if (file === undefined) {
        throw new GatewayError("not_found", "There is no such file: its address is wrong or has expired after an hour");
      }
      set.headers["content-type"] = file.mediaType;
      set.headers["cache-control"] = "private, max-age=3600";
      set.headers["content-security-policy"] = "default-src 'none'";
      set.headers["x-content-type-options"] = "nosniff";
      return new Response(file.bytes as Uint8Array<ArrayBuffer>);
    },
    { detail: { summary: "A generated file, for an hour", tags: ["Models at work"], security: [] } },
  );
}

function sign(ground: HttpGround, id: string, expires: number): string {
  return createHmac("sha256", ground.signingSecret).update(`${id}.${expires}`).digest("base64url");
}

function matches(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** The origin as the client knows it, also behind a proxy that terminates TLS. */
function originOf(request: Request): string {
  const url = new URL(request.url);
  const proto = request.headers.get("x-forwarded-proto");
  if (proto === "https" || proto === "http") url.protocol = `${proto}:`;
  return url.origin;
}
