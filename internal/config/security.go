package config

import "time"

// ACL is access control.
type ACL struct {
	Enabled             bool          `key:"acl.enabled"`
	DefaultPolicy       string        `key:"acl.default_policy"` // allow or deny
	DownPolicy          string        `key:"acl.down_policy"`
	PolicyTTL           time.Duration `key:"acl.policy_ttl"`
	RoleTTL             time.Duration `key:"acl.role_ttl"`
	TokenTTL            time.Duration `key:"acl.token_ttl"`
	EnableKeyListPolicy bool          `key:"acl.enable_key_list_policy"`
	EnableReplication   bool          `key:"acl.enable_token_replication"`
	EnablePersistence   bool          `key:"acl.enable_token_persistence"`
	IntentionPolicy     string        `key:"default_intention_policy"`
	Tokens              Tokens
}

// Tokens are the agent's own tokens.
type Tokens struct {
	InitialManagement Secret `key:"acl.tokens.initial_management"`
	Default           Secret `key:"acl.tokens.default"`
	Agent             Secret `key:"acl.tokens.agent"`
	AgentRecovery     Secret `key:"acl.tokens.agent_recovery"`
	Replication       Secret `key:"acl.tokens.replication"`
	FileRegistration  Secret `key:"acl.tokens.config_file_service_registration"`
	DNS               Secret `key:"acl.tokens.dns"`
}

// TLS holds the settings of each protocol, tls.defaults already mixed in.
type TLS struct {
	HTTPS       TLSProtocol `key:"tls.https"`
	GRPC        TLSProtocol `key:"tls.grpc"`
	InternalRPC TLSProtocol `key:"tls.internal_rpc"`

	ServerName       string   `key:"server_name"`
	AutoEncrypt      bool     `key:"auto_encrypt.tls"`
	AutoEncryptAllow bool     `key:"auto_encrypt.allow_tls"`
	AutoEncryptDNS   []string `key:"auto_encrypt.dns_san"`
	AutoEncryptIP    []string `key:"auto_encrypt.ip_san"`
}

// TLSProtocol is a protocol's TLS settings.
type TLSProtocol struct {
	CAFile               string `key:"ca_file"`
	CAPath               string `key:"ca_path"`
	CertFile             string `key:"cert_file"`
	KeyFile              string `key:"key_file"`
	MinVersion           string `key:"tls_min_version"`   // TLSv1_0 to TLSv1_3
	CipherSuites         string `key:"tls_cipher_suites"` // comma-separated
	VerifyIncoming       bool   `key:"verify_incoming"`
	VerifyOutgoing       bool   `key:"verify_outgoing"`
	VerifyServerHostname bool   `key:"verify_server_hostname"`
	UseAutoCert          bool   `key:"use_auto_cert"`
}

// Connect is the mesh.
type Connect struct {
	Enabled          bool          `key:"connect.enabled"`
	CAProvider       string        `key:"connect.ca_provider"`
	MeshGatewayWAN   bool          `key:"connect.enable_mesh_gateway_wan_federation"`
	ClusterID        string        `key:"connect.ca_config.cluster_id"`
	LeafTTL          time.Duration `key:"connect.ca_config.leaf_cert_ttl"`
	IntermediateTTL  time.Duration `key:"connect.ca_config.intermediate_cert_ttl"`
	RootTTL          time.Duration `key:"connect.ca_config.root_cert_ttl"`
	PrivateKey       Secret        `key:"connect.ca_config.private_key"`
	RootCert         string        `key:"connect.ca_config.root_cert"`
	PrivateKeyType   string        `key:"connect.ca_config.private_key_type"`
	PrivateKeyBits   int           `key:"connect.ca_config.private_key_bits"`
	CSRMaxPerSecond  float64       `key:"connect.ca_config.csr_max_per_second"`
	CSRMaxConcurrent int           `key:"connect.ca_config.csr_max_concurrent"`
	RotationPeriod   time.Duration `key:"connect.ca_config.rotation_period"`
	XDSUpdatesPerSec float64       `key:"xds.update_max_per_second"`
	Peering          bool          `key:"peering.enabled"`
}
