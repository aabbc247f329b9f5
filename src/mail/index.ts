export { findSmtp, parseSmtpUrl, type Smtp, writeSmtp } from "./mail-server.ts";
export { DeliveryError, sendEmail, sendMsMax, toHarmlessText } from "./send-email.ts";
