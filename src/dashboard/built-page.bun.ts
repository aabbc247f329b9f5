import type { BuiltFile } from "./build-page.bun.ts";

/** The page as it was bundled into the binary. The build puts another module in the place of this one; in source there is none. */
export const builtPage: readonly BuiltFile[] | undefined = undefined;
