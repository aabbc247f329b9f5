import { createHmac, timingSafeEqual } from "node:crypto";
import { Elysia } from "elysia";
import { GatewayError, makeCallId } from "../../contract/index.ts";
import { clientOrigin, parseUrl } from "../dashboard-api/origin.ts";
import type { HttpDeps } from "../deps.ts";
import { pageHeaders } from "../middleware/security-headers.ts";
import { Bytes, responses } from "./openapi.ts";

/** How long a generated file and its URL live. */
const fileLifetimeMs = 3_600_000;

/** Stores a file and returns its signed URL, which works without a key until it expires. */
export async function storeFile(
  deps: HttpDeps,
  file: { mediaType: string; bytes: Uint8Array },
  request: Request,
): Promise<string> {
  const expiresAt = deps.now() + fileLifetimeMs;
  const id = await deps.store.blobs.put({ ...file, bytes: new Uint8Array(file.bytes), expiresAt });
  const expires = Math.floor(expiresAt / 1000);
  const path = `${deps.config.basePath}/files/${id}?expires=${expires}&signature=${sign(deps, id, expires)}`;
  return new URL(path, clientOrigin(request)).href;
}

/** GET /files/{id}: authorized by the signature in the URL instead of a key. */
export function filesController(deps: HttpDeps) {
  return new Elysia().get(
    "/files/:id",
    async ({ request }) => {
      const { pathname, searchParams } = parseUrl(request);
      const id = pathname.split("/").at(-1) as string;
      const expires = Number(searchParams.get("expires"));
      const isSigned = matches(sign(deps, id, expires), searchParams.get("signature") ?? "");
      const file = isSigned && expires * 1000 > deps.now() ? await readFile(deps, id) : undefined;
      if (file === undefined) {
        const sentence = "File not found: its URL is wrong or has expired (files live for an hour)";
        throw new GatewayError("not_found", sentence);
      }
      const headers = {
        ...pageHeaders(request, "default-src 'none'; frame-ancestors 'none'; sandbox"),
        "content-type": file.mediaType,
        "cache-control": "private, max-age=3600",
        "x-request-id": makeCallId(deps.now()),
      };
      return new Response(file.bytes as Uint8Array<ArrayBuffer>, { headers });
    },
    {
      detail: {
        summary: "A generated file, for an hour",
        tags: ["Calls"],
        parameters: ["expires", "signature"].map((name) => ({
          name,
          in: "query" as const,
          required: false,
          description: "As in the URL of the image",
          schema: { type: "string" as const },
        })),
        security: [],
        responses: responses({ "image/*": Bytes }, [400, 404, 500, 503]),
      },
    },
  );
}

async function readFile({ store }: HttpDeps, id: string) {
  try {
    return await store.blobs.get(id);
  } catch (cause) {
    throw new GatewayError("unavailable", "The file could not be read; try again", { retryAfterMs: 1000, cause });
  }
}

function sign(deps: HttpDeps, id: string, expires: number): string {
  return createHmac("sha256", deps.signingSecret).update(`${id}.${expires}`).digest("base64url");
}

function matches(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}
