import { readFileSync } from "node:fs";
import { trimSlashes } from "../contract/index.ts";
import type { MachineAddress, MachineAddresses } from "../provider/index.ts";

type Environment = Readonly<Record<string, string | undefined>>;

const linkLocal = "http://169.254.169.254";
const ecs = "http://169.254.170.2";

/**
 * Addresses of the machine's metadata services. The variables are those that ECS, EKS and the SDKs of both clouds set
 * and read. They do not decide whether a service is queried; a credential decides that.
 */
export function readMachineAddresses(env: Environment): MachineAddresses {
  const google = env.GCE_METADATA_HOST;
  return {
    ...readContainer(env),
    "aws-instance": { url: trimSlashes(env.AWS_EC2_METADATA_SERVICE_ENDPOINT || linkLocal) },
    google: { url: google ? `http://${google}` : linkLocal },
  };
}

function readContainer(env: Environment): { "aws-container"?: MachineAddress } {
  const relative = env.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI;
  const url = relative ? `${ecs}${relative}` : env.AWS_CONTAINER_CREDENTIALS_FULL_URI;
  if (!url || !URL.canParse(url)) return {};
  const { AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file, AWS_CONTAINER_AUTHORIZATION_TOKEN: token } = env;
  const readToken = file ? () => readFileSync(file, "utf8").trim() : token ? () => token : undefined;
  return { "aws-container": { url, readToken } };
}
