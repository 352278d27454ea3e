// The certified OpenID provider `oidc-provider`, on loopback: prints its issuer, and ends with standard input.
// Any name logs in with any password; who is called so has it as subject, and these claims.
import { createServer } from 'node:http';
import * as library from 'oidc-provider';

const Provider = library.Provider ?? library.default;
const [callback, conform] = process.argv.slice(2);
const client = (id) => ({
  client_id: id,
  client_secret: `${id}'s secret at the provider`,
  redirect_uris: [callback],
  grant_types: ['authorization_code', 'refresh_token'],
  token_endpoint_auth_method: 'client_secret_basic',
});

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [client('mc'), client('another')],
    claims: {
      openid: ['sub'],
      profile: ['preferred_username', 'name', 'groups'],
      email: ['email', 'email_verified'],
    },
    conformIdTokenClaims: conform === 'true',
    cookies: { keys: ['only for tests'] },
    features: { devInteractions: { enabled: true } },
    pkce: { required: () => true },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({
        sub: id,
        preferred_username: id.replace(/ .*/, ''),
        name: id,
        groups: ['physics'],
        email: `${id.replace(/ .*/, '')}@mc.example`,
        email_verified: true,
      }),
    }),
  });
  server.on('request', provider.callback());
  console.log(issuer);
});
process.stdin.on('end', () => process.exit(0)).resume();
