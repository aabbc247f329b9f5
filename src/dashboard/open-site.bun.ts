import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { StaticAsset, StaticAssets } from "../http/deps.ts";
import type { BuiltFile } from "./build-page.bun.ts";
import { builtPage } from "./built-page.bun.ts";

const compressGzip = promisify(gzip);
const compressBrotli = promisify(brotliCompress);
/** 60 ms for all files; within 5 % of the maximum quality, which takes ten times as long. */
const brotliQuality = 9;

/**
 * The files of the dashboard, by path. Lazy: the first request bundles the page when run from source, and each file is
 * compressed once, off the event loop.
 */
export function openSite(): StaticAssets {
  let built: Promise<Map<string, BuiltFile>> | undefined;
  const files = new Map<string, Promise<StaticAsset>>();
  return {
    async find(path) {
      built ??= loadFiles();
      const file = (await built).get(path);
      if (file === undefined) return undefined;
      const siteFile = files.get(path) ?? compressFile(file);
      files.set(path, siteFile);
      return siteFile;
    },
  };
}

async function loadFiles(): Promise<Map<string, BuiltFile>> {
  const files = builtPage ?? (await (await import("./build-page.bun.ts")).buildPage());
  return new Map(files.map((file) => [file.path, file]));
}

async function compressFile({ mediaType, bytes }: BuiltFile): Promise<StaticAsset> {
  const plain = new Uint8Array(await bytes.arrayBuffer());
  const params = { [constants.BROTLI_PARAM_QUALITY]: brotliQuality };
  const [gzipped, br] = await Promise.all([
    compressGzip(plain, { level: 9 }),
    compressBrotli(plain, { params: { ...params, [constants.BROTLI_PARAM_SIZE_HINT]: plain.length } }),
  ]);
  return { mediaType, plain, gzip: new Uint8Array(gzipped), br: new Uint8Array(br) };
}
