/**
 * The services by which the machine of a cloud learns its own credentials: a container of ECS or EKS, an instance of EC2, and
 * a machine or container of Google Cloud. They are asked only where a credential says so expressly.
 */
export const machineServices = ["aws-container", "aws-instance", "google"] as const;
export type MachineService = (typeof machineServices)[number];

/** Where such a service is, and what it wants to be shown. */
export interface MachineAddress {
  readonly url: string;
  /** The token of the container, read anew for each request because it is replaced; absent: none is shown. */
  readonly readToken?: (() => string) | undefined;
}
export type MachineAddresses = Readonly<Partial<Record<MachineService, MachineAddress>>>;

/** One request to a service of the machine. */
export interface MachineRequest {
  /** Behind the service's address; default nothing. */
  readonly path?: string;
  /** Default `GET`. */
  readonly method?: "GET" | "PUT";
  readonly headers?: Readonly<Record<string, string>>;
}
