import type { MeterName } from "../contract/index.ts";

/** The column of each meter, the same in `calls` and in the usage tables. */
export const meterColumns = {
  inputToken: "input_tokens",
  audioInputToken: "audio_input_tokens",
  cacheReadToken: "cache_read_tokens",
  cacheWriteToken: "cache_write_tokens",
  cacheWrite1hToken: "cache_write_1h_tokens",
  outputToken: "output_tokens",
  audioOutputToken: "audio_output_tokens",
  imageOutputToken: "image_output_tokens",
  image: "images",
  audioMs: "audio_ms",
  character: "characters",
  call: "call_units",
} as const satisfies Record<MeterName, string>;

/** Those that usage is shown by: all but that of models which are charged by the call. */
export const usageColumns = Object.values(meterColumns).filter((column) => column !== "call_units");
