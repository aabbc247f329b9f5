/**
 * How long a test or a hook may take: as long as the slowest machine needs for it many times over. Only a hang ends here;
 * what should be quick is measured by what it does, not by the clock. Read ahead of each file that has a global object of its own
 * (bunfig.toml): all of `npm test`, the first of `bun test`, and each of `bun test --isolate`.
 */
import { setDefaultTimeout } from "bun:test";
import { isLong } from "./long.ts";

setDefaultTimeout(isLong ? 6 * 3_600_000 : 240_000);
