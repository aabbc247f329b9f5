import type { BuiltFile } from "./build-page.bun.ts";

/** The dashboard bundled into the binary. The build replaces this module; it is undefined when run from source. */
export const builtPage: readonly BuiltFile[] | undefined = undefined;
