import { ConfigError } from "../config/index.ts";
import { type ErrorBody, type ErrorCode, errorTable, GatewayError } from "../contract/index.ts";
import { isUnusable } from "../db/index.ts";
import { RedisRefused } from "../ledger/index.ts";
import { UsageError } from "./command.ts";
import { exitCodes } from "./exit-codes.ts";
import { isUnreachable } from "./unreachable.ts";

/** An error for programs: the body that `--json` prints, and the exit code of its kind. */
export interface CliError extends ErrorBody {
  readonly exitCode: number;
}

/** Errors whose HTTP status does not say what kind of error they are on a command line. */
const exitCodesOfCodes: Partial<Record<ErrorCode, number>> = {
  not_found: exitCodes.notFound,
  model_not_found: exitCodes.notFound,
  conflict: exitCodes.conflict,
  unavailable: exitCodes.unavailable,
  // A later try may succeed, with the same words.
  request_timeout: exitCodes.failed,
  rate_limit_exceeded: exitCodes.failed,
};

/** Describes any error. Its texts may have secrets in them: see `createRedactor`. */
export function describeError(error: unknown): CliError {
  if (error instanceof GatewayError) return { ...error.toBody(), exitCode: exitCodeOf(error) };
  const message = error instanceof Error ? error.message : String(error);
  const describe = (exitCode: number, type: string, code: string, param: string | null = null) => ({
    error: { message, type, param, code },
    exitCode,
  });
  if (error instanceof UsageError) return describe(exitCodes.invalid, "usage_error", "invalid_usage", error.param);
  if (error instanceof ConfigError) {
    return describe(exitCodes.invalid, "config_error", "invalid_configuration", error.variable);
  }
  if (error instanceof RedisRefused) return describe(exitCodes.unavailable, "redis_error", "redis_unusable");
  if (isUnusable(error)) return describe(exitCodes.unavailable, "store_error", "store_unusable");
  if (isUnreachable(error)) return describe(exitCodes.unavailable, "connection_error", "unreachable");
  return describe(exitCodes.failed, "command_error", "failed");
}

function exitCodeOf({ code }: GatewayError): number {
  return exitCodesOfCodes[code] ?? (errorTable[code].status < 500 ? exitCodes.invalid : exitCodes.failed);
}
