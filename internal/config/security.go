package config

import "time"

// ACL is access control.
type ACL struct {
	Enabled             bool          `key:"acl.enabled"`                  // enforce access control
	DefaultPolicy       string        `key:"acl.default_policy"`           // allow or deny what no rule names
	DownPolicy          string        `key:"acl.down_policy"`              // what counts without a connection: allow, deny, extend-cache, async-cache
	PolicyTTL           time.Duration `key:"acl.policy_ttl"`               // how long policies are remembered
	RoleTTL             time.Duration `key:"acl.role_ttl"`                 // how long roles are remembered
	TokenTTL            time.Duration `key:"acl.token_ttl"`                // how long tokens are remembered
	EnableKeyListPolicy bool          `key:"acl.enable_key_list_policy"`   // listing keys needs the rule list, besides read
	EnableReplication   bool          `key:"acl.enable_token_replication"` // copy tokens from the primary datacenter
	EnablePersistence   bool          `key:"acl.enable_token_persistence"` // keep tokens set over HTTP on disk
	IntentionPolicy     string        `key:"default_intention_policy"`     // allow or deny; default: acl.default_policy
	Tokens              Tokens
}

// Tokens are the agent's own tokens.
type Tokens struct {
	InitialManagement Secret `key:"acl.tokens.initial_management"`               // management token of a new cluster
	Default           Secret `key:"acl.tokens.default"`                          // of requests without one
	Agent             Secret `key:"acl.tokens.agent"`                            // of the agent's own requests
	AgentRecovery     Secret `key:"acl.tokens.agent_recovery"`                   // for this agent while no server is there
	Replication       Secret `key:"acl.tokens.replication"`                      // for copying from the primary datacenter
	FileRegistration  Secret `key:"acl.tokens.config_file_service_registration"` // of services from files
	DNS               Secret `key:"acl.tokens.dns"`                              // of DNS questions
}

// TLS holds the settings of each protocol, tls.defaults already mixed in.
type TLS struct {
	HTTPS       TLSProtocol `key:"tls.https"`
	GRPC        TLSProtocol `key:"tls.grpc"`
	InternalRPC TLSProtocol `key:"tls.internal_rpc"`

	ServerName       string   `key:"server_name"`            // name in the agent's certificate
	AutoEncrypt      bool     `key:"auto_encrypt.tls"`       // get a certificate from the servers
	AutoEncryptAllow bool     `key:"auto_encrypt.allow_tls"` // give clients certificates
	AutoEncryptDNS   []string `key:"auto_encrypt.dns_san"`   // further names in it
	AutoEncryptIP    []string `key:"auto_encrypt.ip_san"`    // further addresses in it
}

// TLSProtocol is a protocol's TLS settings.
type TLSProtocol struct {
	CAFile               string `key:"ca_file"`                // file with the CA certificates
	CAPath               string `key:"ca_path"`                // folder with CA certificates
	CertFile             string `key:"cert_file"`              // file with the certificate
	KeyFile              string `key:"key_file"`               // file with its key
	MinVersion           string `key:"tls_min_version"`        // TLSv1_0 to TLSv1_3
	CipherSuites         string `key:"tls_cipher_suites"`      // comma-separated
	VerifyIncoming       bool   `key:"verify_incoming"`        // callers need a certificate
	VerifyOutgoing       bool   `key:"verify_outgoing"`        // servers need a certificate
	VerifyServerHostname bool   `key:"verify_server_hostname"` // and it must be one of a server
	UseAutoCert          bool   `key:"use_auto_cert"`          // use the certificate of auto_encrypt
}

// Connect is the mesh.
type Connect struct {
	Enabled          bool          `key:"connect.enabled"`                            // service mesh
	CAProvider       string        `key:"connect.ca_provider"`                        // only consul, the built-in one
	MeshGatewayWAN   bool          `key:"connect.enable_mesh_gateway_wan_federation"` // datacenters talk through mesh gateways
	ClusterID        string        `key:"connect.ca_config.cluster_id"`               // UUID of the trust domain of a new cluster; default: random
	LeafTTL          time.Duration `key:"connect.ca_config.leaf_cert_ttl"`            // lifetime of a service's certificate
	IntermediateTTL  time.Duration `key:"connect.ca_config.intermediate_cert_ttl"`    // lifetime of an intermediate certificate
	RootTTL          time.Duration `key:"connect.ca_config.root_cert_ttl"`            // lifetime of a root made here
	PrivateKey       Secret        `key:"connect.ca_config.private_key"`              // PEM, with root_cert
	RootCert         string        `key:"connect.ca_config.root_cert"`                // PEM; default: made here
	PrivateKeyType   string        `key:"connect.ca_config.private_key_type"`         // ec or rsa
	PrivateKeyBits   int           `key:"connect.ca_config.private_key_bits"`         // 256, or 2048 and more for rsa
	CSRMaxPerSecond  float64       `key:"connect.ca_config.csr_max_per_second"`       // certificates signed a second; 0: no limit
	CSRMaxConcurrent int           `key:"connect.ca_config.csr_max_concurrent"`       // certificates signed at once; 0: no limit
	RotationPeriod   time.Duration `key:"connect.ca_config.rotation_period"`          // lifetime of the key of a root
	XDSUpdatesPerSec float64       `key:"xds.update_max_per_second"`                  // updates of proxies a second; 0: no limit
	Peering          bool          `key:"peering.enabled"`                            // peering of clusters
}
