import { isLoopback } from "../contract/index.ts";
import type { Smtp } from "./mail-server.ts";

/** How long a webhook or mail server may take. */
export const sendMsMax = 10_000;

interface DeliveryErrorOptions {
  /** The receiver asked to wait this long. */
  readonly retryAfterMs?: number | undefined;
  /** The receiver will never accept it. */
  readonly isFinal?: boolean;
}

/** The reason why a message was not accepted, without secrets. */
export class DeliveryError extends Error {
  override readonly name = "DeliveryError";
  readonly retryAfterMs: number | undefined;
  readonly isFinal: boolean;

  constructor(message: string, { retryAfterMs, isFinal = false }: DeliveryErrorOptions = {}) {
    super(message);
    this.retryAfterMs = retryAfterMs;
    this.isFinal = isFinal;
  }
}

/** Content of an e-mail. */
export interface Mail {
  /** Identifies the mail; repeated sends use the same id. */
  readonly id: string;
  readonly subject: string;
  readonly text: string;
}

/** Sends an e-mail, once. @throws {DeliveryError} */
export async function sendEmail(smtp: Smtp, to: readonly string[], { id, subject, text }: Mail): Promise<void> {
  // Imported only when it is needed: most gateways send no mail.
  const { createTransport } = await import("nodemailer");
  const { host, port, isTls, user, password = "" } = smtp;
  const transport = createTransport({
    host,
    port,
    secure: isTls,
    disableFileAccess: true,
    disableUrlAccess: true,
    // A password goes over TLS only, except within this machine.
    requireTLS: !isTls && user !== undefined && !isLoopback(host),
    ...(user !== undefined && { auth: { user, pass: password } }),
    connectionTimeout: sendMsMax,
    greetingTimeout: sendMsMax,
    socketTimeout: sendMsMax,
    dnsTimeout: sendMsMax,
  });
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new DeliveryError(`The mail server did not finish within ${sendMsMax / 1000} s`)),
    sendMsMax,
  );
  try {
    // As objects, whose addresses are not read as lists.
    const mail = { from: smtp.from, to: to.map((address) => ({ name: "", address })), subject, text: `${text}\n` };
    await Promise.race([transport.sendMail({ ...mail, messageId: `<${id}@modelgate>` }), late]);
  } catch (error) {
    throw toDeliveryError(error);
  } finally {
    clearTimeout(timer);
    transport.close();
  }
}

/** The words of a mail server may repeat the message, so only its codes are reported. */
function toDeliveryError(error: unknown): DeliveryError {
  if (error instanceof DeliveryError) return error;
  const { code, command, responseCode } = error as { code?: string; command?: string; responseCode?: number };
  const codes = [code, responseCode].filter((one) => one !== undefined).join(", ");
  const failure =
    command === "CONN" ? "Cannot connect to the mail server" : "The mail server did not accept the message";
  return new DeliveryError(`${failure}${codes === "" ? "" : ` (${codes})`}`);
}

/**
 * Reduces a name that anybody may have chosen to one short line without anything that mail programs turn into a link.
 */
export function toHarmlessText(name: string): string {
  if (/^[\w.+-]{1,60}@[\w.-]{1,60}$/.test(name)) return name;
  return name
    .replaceAll(/[\s\p{C}]+|[./:@\\]+(?=\S)/gu, " ")
    .trim()
    .slice(0, 60);
}
