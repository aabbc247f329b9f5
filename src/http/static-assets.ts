import { createHash } from "node:crypto";
import { Elysia } from "elysia";
import { GatewayError } from "../contract/index.ts";
import { pageHeaders } from "./security-headers.ts";

/** A file of the dashboard in each form that it is sent in. */
interface StaticAsset {
  readonly mediaType: string;
  readonly plain: Uint8Array<ArrayBuffer>;
  readonly gzip: Uint8Array<ArrayBuffer>;
  readonly br: Uint8Array<ArrayBuffer>;
}

/** The dashboard as files, by path; `/index.html` is the page. */
export interface StaticAssets {
  find(path: string): Promise<StaticAsset | undefined>;
}

/** Where the page stands. It finds by itself what is to be seen there. */
export const pagePaths = [
  "/",
  "/keys",
  "/billing",
  "/models",
  "/playground",
  "/settings",
  "/sign-in",
  "/admin",
  "/admin/*",
] as const;

/** All that the page needs is its own: it loads from, sends to and stands in no other site, and has no inline script or style. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob: data:",
  "media-src 'self' blob: data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

const always = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
  vary: "accept-encoding",
  "x-frame-options": "DENY",
};

/** The dashboard: the same page at each of its paths, and the files it is made of. */
export function staticAssetsController(site: StaticAssets) {
  const detail = { hide: true };
  const page = ({ request }: { request: Request }) => answer(site, request, "/index.html");
  const app = new Elysia().get(
    "/assets/:file",
    ({ request, params }) => answer(site, request, `/assets/${params.file}`),
    {
      detail,
    },
  );
  for (const path of pagePaths) app.get(path, page, { detail });
  return app;
}

async function answer(site: StaticAssets, request: Request, path: string): Promise<Response> {
  const file = await site.find(path);
  if (file === undefined) throw new GatewayError("not_found", `There is no file ${path}; load the page anew`);
  const form = formOf(request.headers.get("accept-encoding") ?? "");
  const bytes = file[form];
  // The name of an asset changes with what is in it; the page's own does not.
  const isNamedByContent = path.startsWith("/assets/");
  const etag = `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`;
  const headers = {
    ...pageHeaders(request, policy),
    ...always,
    "cache-control": isNamedByContent ? "public, max-age=31536000, immutable" : "no-cache",
    etag,
    "content-type": file.mediaType,
    ...(form !== "plain" && { "content-encoding": form }),
  };
  if (request.headers.get("if-none-match") === etag) return new Response(null, { status: 304, headers });
  return new Response(bytes, { headers });
}

function formOf(accepted: string): keyof Omit<StaticAsset, "mediaType"> {
  const words = accepted
    .toLowerCase()
    .split(",")
    .map((word) => word.trim());
  const takes = (name: string) =>
    words.some((word) => word === name || (word.startsWith(`${name};`) && !/;\s*q=0(\.0*)?$/.test(word)));
  return takes("br") ? "br" : takes("gzip") ? "gzip" : "plain";
}
