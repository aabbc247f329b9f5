import type { ProviderPlugin } from "../provider/index.ts";

/**
 * A provider's side of a protocol, as {@link Inbound} is the client's: an outbound wire format translates uniform
 * requests for the provider, and its answers and chunks back to the uniform format. It is the part of a plugin that
 * does not depend on the provider's name, address, keys and models; a plugin is both together.
 *
 * The handlers do the work, and the rest declares what the kernel may request: `checks` refuse requests that the format
 * cannot express, `maxChoices` is the number of choices that one request may have, `modelOptions` is what a row may
 * set, and `readError` and `readUsage` read refusals and usage as the provider writes them.
 */
export type Outbound = Pick<ProviderPlugin, "handlers" | "maxChoices"> &
  Required<Pick<ProviderPlugin, "modelOptions" | "checks">> &
  Partial<Pick<ProviderPlugin, "readError" | "readUsage">>;
