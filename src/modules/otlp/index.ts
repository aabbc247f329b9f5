import type { Module } from "../module.ts";
import { settings } from "./settings.ts";

/** Traces, metrics, the log and kept content, sent to a collector by OpenTelemetry's protocol (OTLP). */
export const otlp: Module = {
  name: "otlp",
  settings,
  async open(parts) {
    const { openOtlp } = await import("./open.ts");
    return await openOtlp(parts);
  },
};
