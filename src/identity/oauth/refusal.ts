/** The codes of errors that OAuth's endpoints answer (RFC 6749, section 5.2; RFC 8628, section 3.5). */
export type OauthErrorCode =
  | "access_denied"
  | "authorization_pending"
  | "expired_token"
  | "invalid_grant"
  | "invalid_request"
  | "slow_down"
  | "unsupported_grant_type";

/** A request for tokens that is refused. */
export class OauthError extends Error {
  override readonly name = "OauthError";
  readonly code: OauthErrorCode;
  readonly status: 400 | 401 | 429;

  constructor(code: OauthErrorCode, message: string, status: 400 | 401 | 429 = 400) {
    super(message);
    this.code = code;
    this.status = status;
  }
}
