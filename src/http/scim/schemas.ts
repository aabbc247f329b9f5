/** Discovery: the features of the server and the attributes that it keeps (RFC 7643, sections 5 to 7). */

export const userSchema = "urn:ietf:params:scim:schemas:core:2.0:User";
export const groupSchema = "urn:ietf:params:scim:schemas:core:2.0:Group";

/** Entries of a page. */
export const pageMax = 200;

export function serviceProviderConfig(base: string) {
  return {
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],
    patch: { supported: true },
    bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: pageMax },
    changePassword: { supported: false },
    sort: { supported: false },
    etag: { supported: false },
    authenticationSchemes: [
      {
        type: "oauthbearertoken",
        name: "Admin key",
        description: "An admin key with the scope scim:write, as a bearer token",
        primary: true,
      },
    ],
    meta: { resourceType: "ServiceProviderConfig", location: `${base}/ServiceProviderConfig` },
  };
}

export function resourceTypes(base: string) {
  const types = [
    { id: "User", endpoint: "/Users", description: "People who sign in", schema: userSchema },
    { id: "Group", endpoint: "/Groups", description: "Groups, which give roles by a table", schema: groupSchema },
  ];
  return types.map((type) => ({
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:ResourceType"],
    name: type.id,
    ...type,
    schemaExtensions: [],
    meta: { resourceType: "ResourceType", location: `${base}/ResourceTypes/${type.id}` },
  }));
}

interface Attribute {
  readonly type?: "string" | "boolean" | "complex" | "reference";
  /** The type of the resource of a reference. */
  readonly of?: "User" | "Group";
  readonly description: string;
  readonly required?: true;
  readonly caseExact?: true;
  readonly multiValued?: true;
  readonly mutability?: "readOnly" | "immutable";
  readonly isUnique?: true;
  readonly parts?: Readonly<Record<string, Attribute>>;
}

const attributes: Readonly<Record<string, Readonly<Record<string, Attribute>>>> = {
  [userSchema]: {
    userName: { description: "The e-mail that the person signs in with", required: true, isUnique: true },
    externalId: { description: "The id of the person at the identity provider", caseExact: true },
    displayName: { description: "The name of the person" },
    name: { type: "complex", description: "The same name", parts: { formatted: { description: "The whole name" } } },
    active: { type: "boolean", description: "False: disabled, with their sessions, programs and keys" },
    emails: {
      type: "complex",
      description: "The e-mail of userName",
      multiValued: true,
      mutability: "readOnly",
      parts: {
        value: { description: "The address", mutability: "readOnly" },
        type: { description: "work", mutability: "readOnly" },
        primary: { type: "boolean", description: "True", mutability: "readOnly" },
      },
    },
    groups: {
      type: "complex",
      description: "The groups that the person is in",
      multiValued: true,
      mutability: "readOnly",
      parts: {
        value: { description: "The id of the group", mutability: "readOnly" },
        display: { description: "Its name", mutability: "readOnly" },
        $ref: { type: "reference", of: "Group", description: "The address of the group", mutability: "readOnly" },
      },
    },
  },
  [groupSchema]: {
    displayName: { description: "The name by which the table finds the group", required: true, isUnique: true },
    externalId: { description: "The id of the group at the identity provider", caseExact: true },
    members: {
      type: "complex",
      description: "The people of the group",
      multiValued: true,
      parts: {
        value: { description: "The id of a user", mutability: "immutable" },
        display: { description: "Their e-mail", mutability: "readOnly" },
        $ref: { type: "reference", of: "User", description: "The address of the user", mutability: "immutable" },
      },
    },
  },
};

export function schemas(base: string) {
  return [
    { id: userSchema, name: "User", description: "A person who signs in" },
    { id: groupSchema, name: "Group", description: "A group of people" },
  ].map((schema) => ({
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:Schema"],
    ...schema,
    attributes: Object.entries(attributes[schema.id] ?? {}).map(toDefinition),
    meta: { resourceType: "Schema", location: `${base}/Schemas/${schema.id}` },
  }));
}

function toDefinition([name, attribute]: [string, Attribute]): object {
  const { type = "string", description, of, parts, isUnique = false } = attribute;
  return {
    name,
    type,
    multiValued: attribute.multiValued ?? false,
    description,
    required: attribute.required ?? false,
    caseExact: attribute.caseExact ?? false,
    mutability: attribute.mutability ?? "readWrite",
    returned: "default",
    uniqueness: isUnique ? "server" : "none",
    ...(of !== undefined && { referenceTypes: [of] }),
    ...(parts !== undefined && { subAttributes: Object.entries(parts).map(toDefinition) }),
  };
}
