import { createHash } from "node:crypto";
import { GatewayError } from "../../contract/index.ts";
import type { StaticAssets } from "../deps.ts";
import { ConstantDocument } from "./constant-document.ts";
import { pageHeaders } from "./headers.ts";
import type { Route } from "./route.ts";

/** The paths of the dashboard, a single-page application. */
export const pagePaths = [
  "/",
  "/overview",
  "/connect",
  "/keys",
  "/requests",
  "/statistics",
  "/billing",
  "/team",
  "/sessions",
  "/statement",
  "/models",
  "/playground",
  "/status",
  "/settings",
  "/help",
  "/help/*",
  "/sign-in",
  "/device",
  "/authorize",
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

/** The documentation for programs, by the convention of https://llmstxt.org. */
const programPaths = ["/llms.txt", "/llms-full.txt"] as const;

/** The dashboard: the same page at each of its paths, and its assets; the documentation also as Markdown. */
export function staticRoutes(site: StaticAssets): Route[] {
  const get = (path: string, answer: Route["answer"]): Route => ({ method: "GET", path, answer });
  return [
    get("/assets/:file", ({ request, params }) => answer(site, request, `/assets/${params.file}`)),
    get("/favicon.ico", ({ request }) => answer(site, request, "/favicon.ico")),
    ...programPaths.map((path) => get(path, ({ request }) => answer(site, request, path))),
    ...pagePaths.map((path) =>
      get(path, ({ request, params }) => {
        const isMarkdown = path === "/help/*" && /^[\w-]+\.md$/.test(params["*"] ?? "");
        return answer(site, request, isMarkdown ? `/help/${params["*"]}` : "/index.html");
      }),
    ),
  ];
}

/** A file that was requested at least once. */
interface ServedFile {
  readonly document: ConstantDocument;
  readonly policy: string;
}

/** The requested files of a site, by path. */
const served = new WeakMap<StaticAssets, Map<string, Promise<ServedFile>>>();

async function answer(site: StaticAssets, request: Request, path: string, status = 200): Promise<Response> {
  const { document, policy } = await findFile(site, path);
  // The name of an asset changes with its content; the name of the page does not.
  const isImmutable = path.startsWith("/assets/");
  const headers = {
    ...pageHeaders(request, policy),
    ...always,
    "cache-control": isImmutable ? "public, max-age=31536000, immutable" : "no-cache",
  };
  return await document.respond(request, headers, status);
}

/** @throws {GatewayError} `not_found` when the dashboard has no such file. */
function findFile(site: StaticAssets, path: string): Promise<ServedFile> {
  const files = served.get(site) ?? new Map<string, Promise<ServedFile>>();
  served.set(site, files);
  const current = files.get(path);
  if (current !== undefined) return current;
  const file = openFile(site, path).catch((error) => {
    // Any path can be requested; only paths of files are kept.
    files.delete(path);
    throw error;
  });
  files.set(path, file);
  return file;
}

async function openFile(site: StaticAssets, path: string): Promise<ServedFile> {
  const file = await site.find(path);
  if (file === undefined) throw new GatewayError("not_found", `There is no file ${path}; reload the page`);
  const { mediaType, bytes } = file;
  const [, inlineStyle] = path === "/index.html" ? (/<style>([^<]*)<\/style>/.exec(await bytes.text()) ?? []) : [];
  return { document: new ConstantDocument(mediaType, () => bytes), policy: toPolicy(inlineStyle) };
}
