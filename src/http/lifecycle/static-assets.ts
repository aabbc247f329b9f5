import { createHash } from "node:crypto";
import { Elysia } from "elysia";
import { GatewayError } from "../../contract/index.ts";
import type { StaticAssets } from "../deps.ts";
import { chooseEncoding, pageHeaders } from "./headers.ts";

/** The paths of the dashboard, a single-page application. */
export const pagePaths = [
  "/",
  "/overview",
  "/connect",
  "/keys",
  "/requests",
  "/statistics",
  "/billing",
  "/statement",
  "/models",
  "/playground",
  "/status",
  "/settings",
  "/help",
  "/help/*",
  "/sign-in",
  "/admin",
  "/admin/*",
] as const;

/**
 * The page loads nothing from other hosts, sends nothing to them, is not framed, and has no inline script. Its one inline
 * style paints the frame of the page before anything else has arrived.
 */
const toPolicy = (inlineStyle: string | undefined) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self'${inlineStyle === undefined ? "" : ` '${toHashSource(inlineStyle)}'`}`,
    "img-src 'self' blob: data:",
    "media-src 'self' blob: data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; ");

function toHashSource(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}

const always = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
  vary: "accept-encoding",
  "x-frame-options": "DENY",
};

const wantsPage = ({ method, headers }: Request) =>
  method === "GET" && headers.get("accept")?.includes("text/html") === true;

/** The page for an address that does not exist, for a person who asked for a page; undefined for everybody else. */
export async function notFoundPage(site: StaticAssets | undefined, request: Request): Promise<Response | undefined> {
  if (site === undefined || !wantsPage(request)) return undefined;
  return await answer(site, request, "/index.html", 404);
}

/** Where the API has the same paths as the dashboard: the page for a browser that asks for it, without a key. */
export function pagesFirst(site: StaticAssets) {
  const paths: ReadonlySet<string> = new Set(pagePaths);
  return ({ request }: { request: Request }): Promise<Response> | undefined => {
    if (!wantsPage(request) || request.headers.has("authorization") || request.headers.has("x-api-key"))
      return undefined;
    const path = URL.parse(request.url)?.pathname;
    return path !== undefined && paths.has(path) ? answer(site, request, "/index.html") : undefined;
  };
}

/** The dashboard: the same page at each of its paths, and its assets. */
export function staticAssetsController(site: StaticAssets) {
  const page = ({ request }: { request: Request }) => answer(site, request, "/index.html");
  const app = new Elysia({ detail: { hide: true } });
  app.get("/assets/:file", ({ request, params }) => answer(site, request, `/assets/${params.file}`));
  app.get("/favicon.ico", ({ request }) => answer(site, request, "/favicon.ico"));
  for (const path of pagePaths) app.get(path, page);
  return app;
}

async function answer(site: StaticAssets, request: Request, path: string, status = 200): Promise<Response> {
  const file = await site.find(path);
  if (file === undefined) throw new GatewayError("not_found", `There is no file ${path}; reload the page`);
  const encoding = chooseEncoding(request.headers.get("accept-encoding"), ["br", "gzip"]) ?? "plain";
  const bytes = file[encoding];
  // The name of an asset changes with its content; that of the page does not.
  const isImmutable = path.startsWith("/assets/");
  const etag = `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`;
  const [, inlineStyle] = isImmutable
    ? []
    : (/<style>([^<]*)<\/style>/.exec(new TextDecoder().decode(file.plain)) ?? []);
  const headers = {
    ...pageHeaders(request, toPolicy(inlineStyle)),
    ...always,
    "cache-control": isImmutable ? "public, max-age=31536000, immutable" : "no-cache",
    etag,
    "content-type": file.mediaType,
    ...(encoding !== "plain" && { "content-encoding": encoding }),
  };
  if (status === 200 && request.headers.get("if-none-match") === etag)
    return new Response(null, { status: 304, headers });
  return new Response(bytes, { status, headers });
}
