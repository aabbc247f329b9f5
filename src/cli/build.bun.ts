import { join, relative, resolve } from "node:path";
import { buildBinary, root } from "./build-binary.bun.ts";

const { outfile, bytes, commit } = await buildBinary(resolve(process.argv[2] ?? join(root, "dist/modelgate")));
const megabytes = Math.round(bytes / 1e6);
process.stdout.write(`${relative(process.cwd(), outfile)} (${megabytes} MB, commit ${commit ?? "unknown"})\n`);
