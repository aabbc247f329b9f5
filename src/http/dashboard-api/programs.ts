import { Type } from "@sinclair/typebox";
import {
  approveCodeRequest,
  approveDeviceRequest,
  checkCodeRequest,
  denyDeviceRequest,
  findDeviceRequest,
  readProgram,
  titleOf,
} from "../../identity/index.ts";
import { RateLimiter } from "../../lib/rate-limiter.ts";
import type { HttpDeps } from "../deps.ts";
import { toIso } from "../forms/serializers.ts";
import { clientAddressOf, toNetwork } from "../lifecycle/http-call.ts";
import { withSession } from "../lifecycle/session.ts";
import { formBody } from "../lifecycle/validate.ts";

const text = (maxLength: number) => Type.String({ minLength: 1, maxLength });
const Code = formBody({ user_code: text(40) });
const Approval = formBody({ user_code: text(40), account: text(100) });
const authorization = {
  client_id: text(100),
  redirect_uri: text(200),
  code_challenge: text(100),
};
const Authorization = formBody(authorization);
const CodeApproval = formBody({ ...authorization, account: text(100) });

const approvalsPerMinuteMax = 20;

/** The pages where a person approves a program, such as a coding agent, that asks to be signed in. */
export function programsController(deps: HttpDeps) {
  const { store, now, config } = deps;
  const approvals = new RateLimiter(approvalsPerMinuteMax, now, { what: "approvals of programs" });
  const rules = () => ({ now: now(), keysMax: config.maxKeysPerAccount });
  const readOrigin = (request: Request) => {
    const address = clientAddressOf(config, request, deps.server());
    return { address, network: toNetwork(address) };
  };
  const route = withSession(deps, "/programs");
  return [
    route.post(
      "/device",
      async ({ user, request, body: { user_code: userCode } }) => {
        const { title, address, createdAt } = await findDeviceRequest(
          store,
          { user, userCode, ...readOrigin(request) },
          now(),
        );
        return { title, address, created_at: toIso(createdAt) };
      },
      { body: Code },
    ),
    route.post(
      "/device/approve",
      async ({ user, request, body: { user_code: userCode, account: accountId } }) => {
        approvals.take(user.userId);
        await approveDeviceRequest(store, { user, userCode, accountId, ...readOrigin(request) }, rules());
        return { account: accountId };
      },
      { body: Approval },
    ),
    route.post(
      "/device/deny",
      async ({ user, request, body: { user_code: userCode } }) => {
        await denyDeviceRequest(store, { user, userCode, ...readOrigin(request) }, now());
        return { denied: true };
      },
      { body: Code },
    ),
    route.post(
      "/authorize",
      ({ body: { client_id: program, redirect_uri: redirectUri, code_challenge: codeChallenge } }) => {
        checkCodeRequest({ redirectUri, codeChallenge });
        return { title: titleOf(readProgram(program)) };
      },
      { body: Authorization },
    ),
    route.post(
      "/authorize/approve",
      async ({ user, request, body }) => {
        const { client_id: program, redirect_uri: redirectUri, code_challenge: codeChallenge, account } = body;
        approvals.take(user.userId);
        checkCodeRequest({ redirectUri, codeChallenge });
        const code = await approveCodeRequest(
          store,
          {
            user,
            accountId: account,
            address: readOrigin(request).address,
            request: { program: readProgram(program), redirectUri, codeChallenge },
          },
          rules(),
        );
        return { code };
      },
      { body: CodeApproval },
    ),
  ];
}
