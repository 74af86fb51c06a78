"""Amazon Elastic Kubernetes Service (managed node groups): ``limits`` says what it cannot do, ``cloud`` makes its
resources."""
